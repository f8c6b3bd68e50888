onbeforeunload = () => 'stay'; onpagehide = onunload = () => { while (true) {} }
