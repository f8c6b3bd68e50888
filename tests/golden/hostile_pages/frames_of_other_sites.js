for (let i = 0; i < 200; i++) frame(`http://198.51.100.${i}/`)
