for (let i = 0; i < 50; i++) frame(blob(`<script>fetch('INSIDE')<\/script>frame`))
