// Bundles the four pages into OUT: node build.mjs OUT
import {readFileSync} from "node:fs";
import {build} from "esbuild";
import {compile} from "svelte/compiler";

const svelte = {
  name: "svelte",
  setup: (made) => made.onLoad({filter: /\.svelte$/}, ({path}) => ({
    contents: compile(readFileSync(path, "utf8"), {filename: path, generate: "client"}).js.code,
  })),
};
await build({
  entryPoints: {react: "react.jsx", vue: "vue.js", svelte: "svelte.js", angular: "angular.ts"},
  outdir: process.argv[2],
  bundle: true,
  minify: true,
  format: "iife",
  jsx: "automatic",
  conditions: ["browser", "svelte"],
  define: {"process.env.NODE_ENV": '"production"'},
  tsconfigRaw: {compilerOptions: {experimentalDecorators: true}},
  plugins: [svelte],
});
