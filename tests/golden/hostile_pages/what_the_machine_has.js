navigator.geolocation.getCurrentPosition(() => {}, () => {});
navigator.mediaDevices && navigator.mediaDevices.getUserMedia({video: true}).catch(() => {});
Notification.requestPermission().catch(() => {});
for (const name of ['usb', 'bluetooth', 'serial', 'hid'])
  try { navigator[name].requestDevice({filters: []}).catch(() => {}) } catch (error) {}
window.showOpenFilePicker && showOpenFilePicker().catch(() => {});
document.documentElement.requestFullscreen().catch(() => {});
app.requestPointerLock && app.requestPointerLock();
