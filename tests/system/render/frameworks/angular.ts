import "zone.js";
import "@angular/compiler";
import {ChangeDetectorRef, Component, inject} from "@angular/core";
import {bootstrapApplication} from "@angular/platform-browser";

@Component({
  selector: "app-root",
  standalone: true,
  template: `@if (items) { <main><h1>The framework's heading</h1>
    @for (item of items; track item) { <p>{{ item }}</p> } <a href="/next">next</a></main> } @else { <p>Loading</p> }`,
})
class Page {
  items: string[] | null = null;
  constructor() {
    const changes = inject(ChangeDetectorRef);
    fetch("/items.json").then((answer) => answer.json()).then((found) => { this.items = found; changes.detectChanges() });
  }
}
bootstrapApplication(Page);
