CSS.paintWorklet && CSS.paintWorklet.addModule('INSIDE').catch(() => {})
