export interface paths {
    "/v1/chat/completions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a conversation, or read images with the model SvcOCR.
         * @description Needs a key with the scope chat or ocr.
         */
        post: operations["createChatCompletion"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer an input, with hosted tools, stored answers and every kind of item.
         * @description Needs a key with the scope responses.
         */
        post: operations["createResponse"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{response_id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * A stored response.
         * @description Needs a key with the scope responses.
         */
        get: operations["getResponse"];
        put?: never;
        post?: never;
        /**
         * Delete a stored response.
         * @description Needs a key with the scope responses.
         */
        delete: operations["deleteResponse"];
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/responses/{response_id}/input_items": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The input of a stored response.
         * @description Needs a key with the scope responses.
         */
        get: operations["listInputItems"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Answer a conversation in the form of Anthropic's API.
         * @description Needs a key with the scope chat.
         */
        post: operations["createMessage"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/messages/count_tokens": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Count the input tokens of a messages request.
         * @description Needs a key with the scope chat.
         */
        post: operations["countTokens"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/embeddings": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * Turn texts into vectors.
         * @description Needs a key with the scope embeddings.
         */
        post: operations["createEmbeddings"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The models a key may name.
         * @description Takes any valid key.
         */
        get: operations["listModels"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/v1/models/{model}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * One model.
         * @description Takes any valid key.
         */
        get: operations["getModel"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/tools/websearch/mcp": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * The web tools by MCP: JSON-RPC 2.0, answered as JSON or as events.
         * @description Needs a key with the scope web-search.
         */
        post: operations["callWebTools"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/usage": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * What keys, models and tools have used.
         * @description Needs a key with the scope admin.
         */
        get: operations["getUsage"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/requests": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * The last 200 requests, the newest first.
         * @description Needs a key with the scope admin.
         */
        get: operations["listRequests"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/admin/sanitize": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /**
         * What would be masked in a text.
         * @description Needs a key with the scope admin.
         */
        post: operations["previewSanitizing"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        ChatCompletion: {
            id: string;
            object: string;
            created: number;
            model: string;
            choices: Record<string, never>[];
            usage?: Record<string, never>;
            provider_specific_fields?: Record<string, never>;
        };
        /**
         * POST /v1/chat/completions
         * @description A chat request. Fields that are not named here go on to the upstream.
         */
        ChatRequest: {
            model: string;
            messages: components["schemas"]["ChatRequest.message"][];
            temperature?: number | null;
            max_tokens?: number | null;
            max_completion_tokens?: number | null;
            top_p?: number | null;
            n?: number | null;
            stream?: boolean | null;
            stream_options?: {
                include_usage?: boolean | null;
            } | null;
            stop?: (string | null) | string[];
            presence_penalty?: number | null;
            frequency_penalty?: number | null;
            user?: string | null;
            response_format?: {
                /** @enum {unknown} */
                type: "text" | "json_object" | "json_schema";
            } | null;
            tools?: {
                type: string;
                function?: {
                    name: string;
                };
            }[] | null;
            tool_choice?: ("auto" | "none" | "required" | null) | {
                type: string;
            };
            functions?: {
                name: string;
            }[] | null;
            function_call?: ("auto" | "none" | null) | {
                name: string;
            };
            parallel_tool_calls?: boolean | null;
            seed?: number | null;
            logprobs?: boolean | null;
            top_logprobs?: number | null;
            logit_bias?: Record<string, never> | null;
            metadata?: Record<string, never> | null;
            store?: boolean | null;
        };
        "ChatRequest.message": {
            /** @enum {unknown} */
            role: "system" | "developer" | "user" | "assistant" | "function" | "tool";
            content?: (string | null) | components["schemas"]["ChatRequest.part"][];
            name?: string | null;
            tool_call_id?: string | null;
            tool_calls?: Record<string, never>[] | null;
            function_call?: Record<string, never> | null;
        };
        "ChatRequest.part": {
            type: string;
            text?: string;
        };
        /**
         * Crawl a website
         * @description Follow a site's links from a start page and get the content of every page found as clean Markdown or text. Use it to read a whole section at once, such as a product's documentation, a handbook or a changelog, when the answer is spread over several pages. Keep it small: begin with max_depth 1 and a limit of 10 to 50, and narrow it with select_paths or instructions; set allow_external to false to stay on the site. If you only need the list of pages, use websearch-map, then read the few that matter with websearch-extract. A crawl can take up to a minute; pages that failed stand in failed_results, and truncated is true when the time or size budget ended it early. Example: {"url": "https://docs.example.com/", "max_depth": 2, "limit": 30, "select_paths": ["/guide/.*"], "allow_external": false}
         */
        CrawlArguments: {
            /** @description Where to start, an http:// or https:// address, for example https://docs.example.com/guide/. */
            url: string;
            /**
             * @description How many links away from the start to go, 1 to 5; 1 is the start page and the pages it links to.
             * @default 1
             */
            max_depth: number;
            /**
             * @description How many links to follow from any one page, 1 to 500.
             * @default 20
             */
            max_breadth: number;
            /**
             * @description How many pages to process in all, 1 to 500.
             * @default 50
             */
            limit: number;
            /**
             * @description Which pages are wanted, in plain words, for example `only the API reference, no blog posts`.
             * @default null
             */
            instructions: string | null;
            /**
             * @description Only pages whose URL path matches one of these regular expressions, for example ["/docs/.*", "/api/v2/.*"].
             * @default null
             */
            select_paths: string[] | null;
            /**
             * @description Only pages on hosts that match one of these regular expressions, for example ["^docs\\.example\\.com$"].
             * @default null
             */
            select_domains: string[] | null;
            /**
             * @description Whether links that lead to other domains are followed.
             * @default true
             */
            allow_external: boolean;
            /**
             * @description Effort spent on each page: `basic` is fast and right for most pages; `advanced` also keeps tables and embedded content and copes better with complex or protected pages.
             * @default basic
             * @enum {string}
             */
            extract_depth: "basic" | "advanced";
            /**
             * @description Form of raw_content: `markdown` keeps headings, lists, tables, code and links; `text` is plain text.
             * @default markdown
             * @enum {string}
             */
            format: "markdown" | "text";
            /**
             * @description Also give the URL of each site's icon.
             * @default false
             */
            include_favicon: boolean;
        };
        /** @description Contents of the pages found, or data.error when success is false. */
        "CrawlArguments.Data": {
            success: boolean;
            data: {
                base_url?: string;
                results?: {
                    url: string;
                    title?: string | null;
                    /** @description The page's content in the chosen format. */
                    raw_content?: string | null;
                    /** @description Links away from the start page, which is 0. */
                    depth?: number;
                    favicon?: string | null;
                }[];
                /** @description Pages that could not be read, each with the reason. */
                failed_results?: {
                    url: string;
                    error: string;
                }[];
                /** @description Seconds taken. */
                response_time?: number;
                /** @description True when a size or time budget cut something; note tells how to get the rest. */
                truncated?: boolean;
                note?: string;
                /** @description Arguments the source could not honour. */
                ignored_parameters?: string[];
                /** @description What was found in the arguments and in the answer, by kind. */
                sanitization?: {
                    /** @description How many values are missing from the text: masked, or withheld with it. */
                    redacted?: {
                        [key: string]: number;
                    };
                    /** @description How many values stay in the text though they may be personal. */
                    flagged?: {
                        [key: string]: number;
                    };
                    /** @description unavailable: the model that judges texts failed, and only the detectors looked. */
                    guardrail?: string;
                };
                /** @description Present when success is false: what went wrong and what to correct. */
                error?: {
                    type: string;
                    message: string;
                    /** @description The argument at fault. */
                    param?: string;
                    /** @description Whether the same call may succeed later. */
                    retryable: boolean;
                    /** @description Seconds to wait first. */
                    retry_after_s?: number;
                };
            };
        };
        Deleted: {
            id: string;
            object?: string;
            deleted: boolean;
        };
        /**
         * POST /v1/embeddings
         * @description An embeddings request. Fields that are not named here go on to the upstream.
         */
        EmbeddingsRequest: {
            model: string;
            input: string | string[] | number[] | number[][];
            /** @enum {unknown} */
            encoding_format?: "float" | "base64" | null;
            dimensions?: number | null;
            user?: string | null;
        };
        Error: {
            error: {
                message: string;
                type?: string;
                param?: string | null;
                code?: string | null;
            };
        };
        /**
         * Read web pages
         * @description Read up to 20 web pages and get each one's main content as clean Markdown or text, without menus, advertisements and scripts. Use it when you know the URLs: links a user gave, results of websearch-search, or pages found by websearch-map. Give query to get only the passages that matter to a question, about a quarter of the page, each with the headings above it. A URL with a fragment (`…/config#user.name`) gives that section alone. Of a page too long for one answer the result lists all sections with their URLs. Pages that cannot be read stand in failed_results with the reason; the others are still returned. To read many pages of one site use websearch-crawl. Example: {"urls": ["https://docs.python.org/3/whatsnew/3.13.html"], "query": "free-threaded build"}
         */
        ExtractArguments: {
            /** @description Addresses of the pages, 1 to 20, each http:// or https://, for example ["https://example.com/"]. */
            urls: string[];
            /**
             * @description Effort spent on each page: `basic` is fast and right for most pages; `advanced` also keeps tables and embedded content and copes better with complex or protected pages.
             * @default basic
             * @enum {string}
             */
            extract_depth: "basic" | "advanced";
            /**
             * @description Also list the images of each page.
             * @default false
             */
            include_images: boolean;
            /**
             * @description Form of raw_content: `markdown` keeps headings, lists, tables, code and links; `text` is plain text.
             * @default markdown
             * @enum {string}
             */
            format: "markdown" | "text";
            /**
             * @description Also give the URL of each site's icon.
             * @default false
             */
            include_favicon: boolean;
            /**
             * @description A question or topic: the page is cut to the passages that answer it best, in page order.
             * @default null
             */
            query: string | null;
        };
        /** @description Page contents, or data.error when success is false. */
        "ExtractArguments.Data": {
            success: boolean;
            data: {
                results?: {
                    url: string;
                    /** @description The address after redirects, when it is another one. */
                    final_url?: string;
                    title?: string | null;
                    /** @description The page's content in the chosen format; with query, its passages that answer it in page order, gaps marked [...]. */
                    raw_content?: string | null;
                    /** @description The parts of a page that was shortened, together all of it. Ask for one by its URL. */
                    sections?: {
                        url: string;
                        heading: string;
                        /** @description Length of its text. */
                        chars: number;
                    }[];
                    /** @description Image URLs, or {url, description} objects when descriptions were asked for. */
                    images?: unknown[];
                    favicon?: string | null;
                }[];
                /** @description Pages that could not be read, each with the reason. */
                failed_results?: {
                    url: string;
                    error: string;
                    /** @description Seconds to wait before asking for it again. */
                    retry_after_s?: number;
                }[];
                /** @description Seconds taken. */
                response_time?: number;
                /** @description True when a size or time budget cut something; note tells how to get the rest. */
                truncated?: boolean;
                note?: string;
                /** @description Arguments the source could not honour. */
                ignored_parameters?: string[];
                /** @description What was found in the arguments and in the answer, by kind. */
                sanitization?: {
                    /** @description How many values are missing from the text: masked, or withheld with it. */
                    redacted?: {
                        [key: string]: number;
                    };
                    /** @description How many values stay in the text though they may be personal. */
                    flagged?: {
                        [key: string]: number;
                    };
                    /** @description unavailable: the model that judges texts failed, and only the detectors looked. */
                    guardrail?: string;
                };
                /** @description Present when success is false: what went wrong and what to correct. */
                error?: {
                    type: string;
                    message: string;
                    /** @description The argument at fault. */
                    param?: string;
                    /** @description Whether the same call may succeed later. */
                    retryable: boolean;
                    /** @description Seconds to wait first. */
                    retry_after_s?: number;
                };
            };
        };
        JsonRpcAnswer: {
            jsonrpc: string;
            id?: unknown;
            result?: Record<string, never>;
            error?: Record<string, never>;
        };
        /**
         * JSON-RPC 2.0 message as MCP uses it
         * @description A request (method and id), a notification (method, no id) or a response (result or error). Narrower than JSON-RPC: an id is never null, params is an object.
         */
        JsonRpcRequest: {
            /** @constant */
            jsonrpc: "2.0";
            /** @description Echoed with its type kept. A number has no fraction and fits 64 bits. */
            id?: string | number;
            method?: string;
            /** @description By name. A list is JSON-RPC but no MCP method takes one: it is answered with -32602. */
            params?: Record<string, never> | unknown[] | null;
            result?: unknown;
            error?: Record<string, never>;
        };
        List: {
            object: string;
            data: Record<string, never>[];
        };
        /**
         * Map a website
         * @description List the pages of a site: follow its links from a start page and get the URLs found, without their content. Use it to learn how a site is laid out, to find the right page before reading it, or to choose what to crawl; it is much cheaper than websearch-crawl because no text is returned. Narrow it with select_paths or instructions, and set allow_external to false to list only the site itself. Then read the pages that matter with websearch-extract. Example: {"url": "https://docs.example.com/", "max_depth": 2, "limit": 100, "allow_external": false}
         */
        MapArguments: {
            /** @description Where to start, an http:// or https:// address, for example https://docs.example.com/guide/. */
            url: string;
            /**
             * @description How many links away from the start to go, 1 to 5; 1 is the start page and the pages it links to.
             * @default 1
             */
            max_depth: number;
            /**
             * @description How many links to follow from any one page, 1 to 500.
             * @default 20
             */
            max_breadth: number;
            /**
             * @description How many pages to process in all, 1 to 500.
             * @default 50
             */
            limit: number;
            /**
             * @description Which pages are wanted, in plain words, for example `only the API reference, no blog posts`.
             * @default null
             */
            instructions: string | null;
            /**
             * @description Only pages whose URL path matches one of these regular expressions, for example ["/docs/.*", "/api/v2/.*"].
             * @default null
             */
            select_paths: string[] | null;
            /**
             * @description Only pages on hosts that match one of these regular expressions, for example ["^docs\\.example\\.com$"].
             * @default null
             */
            select_domains: string[] | null;
            /**
             * @description Whether links that lead to other domains are followed.
             * @default true
             */
            allow_external: boolean;
        };
        /** @description URLs found, or data.error when success is false. */
        "MapArguments.Data": {
            success: boolean;
            data: {
                base_url?: string;
                /** @description The URLs found. */
                results?: string[];
                /** @description Seconds taken. */
                response_time?: number;
                /** @description True when a size or time budget cut something; note tells how to get the rest. */
                truncated?: boolean;
                note?: string;
                /** @description Arguments the source could not honour. */
                ignored_parameters?: string[];
                /** @description What was found in the arguments and in the answer, by kind. */
                sanitization?: {
                    /** @description How many values are missing from the text: masked, or withheld with it. */
                    redacted?: {
                        [key: string]: number;
                    };
                    /** @description How many values stay in the text though they may be personal. */
                    flagged?: {
                        [key: string]: number;
                    };
                    /** @description unavailable: the model that judges texts failed, and only the detectors looked. */
                    guardrail?: string;
                };
                /** @description Present when success is false: what went wrong and what to correct. */
                error?: {
                    type: string;
                    message: string;
                    /** @description The argument at fault. */
                    param?: string;
                    /** @description Whether the same call may succeed later. */
                    retryable: boolean;
                    /** @description Seconds to wait first. */
                    retry_after_s?: number;
                };
            };
        };
        Message: {
            id: string;
            type: string;
            role: string;
            model?: string;
            content: Record<string, never>[];
            stop_reason?: string | null;
            usage?: Record<string, never>;
        };
        /**
         * POST /v1/messages
         * @description A request in the form of Anthropic's Messages. Fields that are not named here are accepted and stay in the gateway. A count of tokens has the same body without max_tokens.
         */
        MessagesRequest: {
            model: string;
            max_tokens: number;
            messages: components["schemas"]["MessagesRequest.message"][];
            system?: components["schemas"]["MessagesRequest.content"];
            temperature?: number | null;
            top_p?: number | null;
            top_k?: number | null;
            stop_sequences?: string[] | null;
            stream?: boolean | null;
            metadata?: {
                user_id?: string | null;
            } | null;
            thinking?: {
                /** @enum {unknown} */
                type: "enabled" | "disabled" | "adaptive" | "between_tools";
            } | null;
            output_config?: {
                effort?: string | null;
                format?: {
                    /** @enum {unknown} */
                    type: "json_schema";
                } | null;
            } | null;
            output_format?: Record<string, never> | null;
            tools?: components["schemas"]["MessagesRequest.tool"][] | null;
            tool_choice?: {
                /** @enum {unknown} */
                type: "auto" | "any" | "tool" | "none";
                name?: string;
            } | null;
        };
        "MessagesRequest.block": components["schemas"]["MessagesRequest.tool_use"];
        "MessagesRequest.content": (string | null) | components["schemas"]["MessagesRequest.block"][];
        "MessagesRequest.message": {
            /** @enum {unknown} */
            role: "user" | "assistant" | "system";
            content: components["schemas"]["MessagesRequest.content"];
        };
        "MessagesRequest.tool": {
            type?: string | null;
            name?: string;
            description?: string | null;
            input_schema?: Record<string, never> | null;
            max_uses?: number | null;
            allowed_domains?: string[] | null;
            blocked_domains?: string[] | null;
            user_location?: {
                city?: string | null;
                region?: string | null;
                country?: string | null;
                timezone?: string | null;
            } | null;
        };
        "MessagesRequest.tool_result": unknown;
        "MessagesRequest.tool_use": components["schemas"]["MessagesRequest.tool_result"];
        Model: {
            id: string;
            object: string;
            created?: number;
            kind?: string;
            context_length?: number;
        };
        Requests: {
            requests: Record<string, never>[];
        };
        Response: {
            id: string;
            object: string;
            created_at?: number;
            status: string;
            model?: string;
            output: Record<string, never>[];
            usage?: Record<string, never>;
            provider_specific_fields?: Record<string, never>;
        };
        /**
         * POST /v1/responses
         * @description A request for a response. Fields that are not named here go on to the upstream.
         */
        ResponsesRequest: {
            model: string;
            input?: string | components["schemas"]["ResponsesRequest.item"][];
            prompt?: {
                id: string;
            } | null;
            instructions?: (string | null) | components["schemas"]["ResponsesRequest.item"][];
            temperature?: number | null;
            top_p?: number | null;
            max_output_tokens?: number | null;
            stream?: boolean | null;
            stop?: (string | null) | string[];
            presence_penalty?: number | null;
            frequency_penalty?: number | null;
            user?: string | null;
            response_format?: {
                /** @enum {unknown} */
                type: "text" | "json_object" | "json_schema";
            } | null;
            text?: {
                format?: {
                    /** @enum {unknown} */
                    type: "text" | "json_object" | "json_schema";
                } | null;
            } | null;
            tools?: {
                type: string;
            }[] | null;
            tool_choice?: ("auto" | "none" | "required" | null) | {
                type: string;
            };
            parallel_tool_calls?: boolean | null;
            previous_response_id?: string | null;
            store?: boolean | null;
            background?: boolean | null;
            conversation?: string | Record<string, never> | null;
            metadata?: Record<string, never> | null;
            reasoning?: Record<string, never> | null;
            include?: unknown[] | null;
            max_tool_calls?: number | null;
            top_logprobs?: number | null;
            /** @enum {unknown} */
            truncation?: "auto" | "disabled" | null;
        };
        "ResponsesRequest.customCall": {
            call_id?: string;
            name?: string;
            namespace?: string | null;
            input: string;
        };
        "ResponsesRequest.functionCall": {
            call_id?: string;
            name?: string;
            namespace?: string | null;
            arguments?: string;
        };
        /** @description Fields are checked by the item's kind; items of other kinds go on to upstreams that know them. */
        "ResponsesRequest.item": {
            type?: string;
        } & (unknown & unknown & unknown & unknown);
        "ResponsesRequest.message": {
            /** @enum {unknown} */
            role?: "system" | "developer" | "user" | "assistant" | "tool";
            content?: (string | null) | components["schemas"]["ResponsesRequest.part"][];
            call_id?: string | null;
            tool_call_id?: string | null;
        };
        "ResponsesRequest.output": {
            call_id?: string | null;
            output: string | components["schemas"]["ResponsesRequest.part"][];
        };
        "ResponsesRequest.part": {
            type: string;
            text?: string;
        };
        SanitizePreview: {
            profile: string;
            findings: Record<string, never>[];
            request_text: string;
            response_text: string;
        };
        /**
         * POST /api/admin/sanitize
         * @description A text whose masking is to be shown. Served by the ops listener for keys with the scope admin.
         */
        SanitizePreviewRequest: {
            text: string;
            /** @enum {unknown} */
            profile?: "balanced" | "strict" | null;
        };
        /**
         * Search the web
         * @description Use it when the answer may be newer than your training data, needs a source, or when you do not yet know which page holds it. Write the query as a person would type it: a few specific words, one question at a time; several narrow searches beat one broad search. Use topic `news` with time_range or start_date for current events, include_domains to stay on trusted sites, exact_match for names, error messages and quotations. Excerpts are short: read whole pages with websearch-extract, or set include_raw_content. Personal and secret data in queries and results is masked as [REDACTED:KIND]. Example: {"query": "python 3.13 free-threaded build performance", "max_results": 5, "time_range": "year"}
         */
        SearchArguments: {
            /** @description What to look for, 1 to 2000 characters; short and specific works best. */
            query: string;
            /**
             * @description `basic` suits most searches; `advanced` looks harder and returns more relevant excerpts, slower; `fast` and `ultra-fast` trade relevance for speed.
             * @default basic
             * @enum {string}
             */
            search_depth: "basic" | "advanced" | "fast" | "ultra-fast";
            /**
             * @description How many results to return, 1 to 20.
             * @default 10
             */
            max_results: number;
            /**
             * @description Only results from these domains and their subdomains, for example ["docs.python.org"].
             * @default null
             */
            include_domains: string[] | null;
            /**
             * @description No results from these domains and their subdomains, for example ["pinterest.com"].
             * @default null
             */
            exclude_domains: string[] | null;
            /**
             * @description `general`, or `news` for recent reporting with publication dates.
             * @default general
             * @enum {string}
             */
            topic: "general" | "news";
            /**
             * @description Only results published or updated in the last `day`, `week`, `month` or `year`. Ignored when start_date or end_date is given.
             * @default null
             */
            time_range: ("day" | "week" | "month" | "year") | null;
            /**
             * @description Only results from this day on, as YYYY-MM-DD. Overrides time_range.
             * @default null
             */
            start_date: string | null;
            /**
             * @description Only results up to this day, as YYYY-MM-DD. Overrides time_range.
             * @default null
             */
            end_date: string | null;
            /**
             * @description Also return images that fit the query.
             * @default false
             */
            include_images: boolean;
            /**
             * @description Also describe each image. Needs include_images to be true.
             * @default false
             */
            include_image_descriptions: boolean;
            /**
             * @description Also return each result's whole cleaned page content, so that no extract call is needed. Makes the answer much longer.
             * @default false
             */
            include_raw_content: boolean;
            /**
             * @description Prefer results from this country: its English name or ISO 3166 code, for example `united states`, `us` or `FRA`.
             * @default null
             */
            country: string | null;
            /**
             * @description Also give the URL of each site's icon.
             * @default false
             */
            include_favicon: boolean;
            /**
             * @description Only results that contain the query word for word.
             * @default false
             */
            exact_match: boolean;
        };
        /** @description Search results, or data.error when success is false. */
        "SearchArguments.Data": {
            success: boolean;
            data: {
                query?: string;
                /** @description Best first. */
                results?: {
                    title?: string | null;
                    url: string;
                    /** @description The relevant excerpt. */
                    content?: string | null;
                    score?: number | null;
                    published_date?: string | null;
                    raw_content?: string | null;
                    favicon?: string | null;
                }[];
                /** @description Image URLs, or {url, description} objects when descriptions were asked for. */
                images?: unknown[];
                /** @description Seconds taken. */
                response_time?: number;
                provider?: string;
                request_id?: string;
                /** @description True when a size or time budget cut something; note tells how to get the rest. */
                truncated?: boolean;
                note?: string;
                /** @description Arguments the source could not honour. */
                ignored_parameters?: string[];
                /** @description What was found in the arguments and in the answer, by kind. */
                sanitization?: {
                    /** @description How many values are missing from the text: masked, or withheld with it. */
                    redacted?: {
                        [key: string]: number;
                    };
                    /** @description How many values stay in the text though they may be personal. */
                    flagged?: {
                        [key: string]: number;
                    };
                    /** @description unavailable: the model that judges texts failed, and only the detectors looked. */
                    guardrail?: string;
                };
                /** @description Present when success is false: what went wrong and what to correct. */
                error?: {
                    type: string;
                    message: string;
                    /** @description The argument at fault. */
                    param?: string;
                    /** @description Whether the same call may succeed later. */
                    retryable: boolean;
                    /** @description Seconds to wait first. */
                    retry_after_s?: number;
                };
            };
        };
        /**
         * Status of the web tools
         * @description Tell whether the web tools work right now: the server's version, whether the search provider answers and if not why, whether the language-model guardrail is on, and whether requests and responses are sanitized. Use it after another web tool failed, to tell a temporary outage from a mistake in the call, or when a user asks about the service. It takes no arguments and searches nothing. Example: {}
         */
        SearchStatusArguments: Record<string, never>;
        /** @description Health of the web tools, or data.error when success is false. */
        "SearchStatusArguments.Data": {
            success: boolean;
            data: {
                server_version?: string;
                search_provider?: {
                    name?: string;
                    healthy?: boolean;
                    error?: string | null;
                };
                guardrail?: {
                    enabled?: boolean;
                    status?: string;
                    endpoint?: string | null;
                    model?: string | null;
                };
                sanitization?: {
                    requests?: boolean;
                    responses?: boolean;
                };
                /** @description True when a size or time budget cut something; note tells how to get the rest. */
                truncated?: boolean;
                note?: string;
                /** @description Arguments the source could not honour. */
                ignored_parameters?: string[];
                /** @description Present when success is false: what went wrong and what to correct. */
                error?: {
                    type: string;
                    message: string;
                    /** @description The argument at fault. */
                    param?: string;
                    /** @description Whether the same call may succeed later. */
                    retryable: boolean;
                    /** @description Seconds to wait first. */
                    retry_after_s?: number;
                };
            };
        };
        TokenCount: {
            input_tokens: number;
        };
        Usage: {
            since: string;
            by: string[];
            currency: string;
            rows: Record<string, never>[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    createChatCompletion: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ChatRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ChatCompletion"];
                    "text/event-stream": string;
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createResponse: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["ResponsesRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Response"];
                    "text/event-stream": string;
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                response_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Response"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    deleteResponse: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                response_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Deleted"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listInputItems: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                response_id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createMessage: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Message"];
                    "text/event-stream": string;
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    countTokens: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["MessagesRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TokenCount"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    createEmbeddings: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["EmbeddingsRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listModels: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["List"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getModel: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                model: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Model"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    callWebTools: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["JsonRpcRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["JsonRpcAnswer"];
                    "text/event-stream": string;
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    getUsage: {
        parameters: {
            query?: {
                /** @description First day, as YYYY-MM-DD (UTC). */
                since?: string;
                /** @description What is summed by: of day,key,model,tool. */
                by?: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Usage"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    listRequests: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Requests"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
    previewSanitizing: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["SanitizePreviewRequest"];
            };
        };
        responses: {
            /** @description The answer. */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["SanitizePreview"];
                };
            };
            /** @description What is wrong, and what to do. */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Error"];
                };
            };
        };
    };
}
