(function write() { document.write('the text <p>'); setTimeout(write) })()
