Object.defineProperty(Document.prototype, 'documentElement', {get: () => { while (true) {} }});
Object.defineProperty(Element.prototype, 'outerHTML', {get: () => { while (true) {} }});
Element.prototype.querySelectorAll = Document.prototype.querySelectorAll = () => { while (true) {} };
