// Before the page's own scripts: the browser has no network and would say so, but the gateway answers for it. Frames
// and idle moments come by the virtual clock, as real ones do not follow it or do not come at all.
// window[Symbol.for("gateway")]: the page looks at what is on the screen, so that drawing and scrolling may change it;
// a page that lies about it changes what is read of itself. Windows are not opened: nobody would see them, and what
// opens all the same is closed.
{
  let watches = false;
  const watched = (name) => {
    const Plain = window[name];
    if (Plain) window[name] = new Proxy(Plain, {construct: (target, given, made) => {
      watches = true;
      return Reflect.construct(target, given, made);
    }});
  };
  watched("IntersectionObserver");
  watched("ResizeObserver");
  const listen = EventTarget.prototype.addEventListener;
  EventTarget.prototype.addEventListener = function addEventListener(kind, ...given) {
    if (kind === "scroll" || /^(animation|transition)/.test(kind)) watches = true;
    return listen.call(this, kind, ...given);
  };
  window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
  window.cancelAnimationFrame = (number) => clearTimeout(number);
  window.requestIdleCallback = (run) => setTimeout(() => run({didTimeout: false, timeRemaining: () => 10}), 1);
  window.cancelIdleCallback = (number) => clearTimeout(number);
  const animate = Element.prototype.animate;
  Element.prototype.animate = function (...given) {
    watches = true;
    return animate.apply(this, given);
  };
  delete Document.prototype.startViewTransition;
  window.open = () => null;
  Object.defineProperty(window, Symbol.for("gateway"), {get: () => watches || !!window.onscroll});
  Object.defineProperty(Navigator.prototype, "onLine", {get: () => true, configurable: true});
}
