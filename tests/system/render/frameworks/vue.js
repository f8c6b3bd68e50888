import {createApp, h, onMounted, ref} from "vue";

createApp({
  setup() {
    const items = ref(null);
    onMounted(async () => { items.value = await (await fetch("/items.json")).json() });
    return () => items.value
      ? h("main", [h("h1", "The framework's heading"), ...items.value.map((item) => h("p", item)), h("a", {href: "/next"}, "next")])
      : h("p", "Loading");
  },
}).mount("#root");
