/* Starts the web app in the page's `#app`. */
import { render } from "solid-js/web";

function App() {
  return (
    <main>
      <h1>Countersign</h1>
    </main>
  );
}

const root = document.getElementById("app");
if (root === null) throw new Error("index.html has no #app");
render(() => <App />, root);
