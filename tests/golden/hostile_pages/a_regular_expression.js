onload = () => setTimeout(() => /^(a+)+$/.test('a'.repeat(40) + 'b'), 10)
