window[Symbol.for('gateway')]; addEventListener('scroll', () => { while (true) {} })
