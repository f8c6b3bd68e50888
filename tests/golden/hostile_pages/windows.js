for (let i = 0; i < 100; i++) { const l = link('INSIDE'); l.target = 'w' + i; l.click() }
