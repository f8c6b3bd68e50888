onpagehide = () => { alert(1); navigator.sendBeacon('INSIDE', 'x') }
