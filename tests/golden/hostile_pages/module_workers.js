new Worker(blob(`import 'INSIDE'; while (true) {}`), {type: 'module'})
