for (let i = 0; i < 20; i++) new SharedWorker(blob(`fetch('INSIDE'); while (true) {} //${i}`))
