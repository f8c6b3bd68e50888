"""Runs inside a Python that has presidio-analyzer: texts in (a JSON line each), spans and CPU seconds out.

Pattern recognizers only, on an empty English pipeline: no model is downloaded. Not a measurement of its own.
"""

import json
import sys
import time


def main() -> None:
    import spacy
    from presidio_analyzer import AnalyzerEngine
    from presidio_analyzer.nlp_engine import NlpArtifacts, SpacyNlpEngine

    class Blank(SpacyNlpEngine):
        def __init__(self) -> None:
            super().__init__()
            self.nlp = {"en": spacy.blank("en", config={"nlp": {"batch_size": 1}})}
            self.nlp["en"].max_length = 2_000_000

        def load(self) -> None: ...

        def is_loaded(self) -> bool:
            return True

        def process_text(self, text: str, language: str) -> NlpArtifacts:
            doc = self.nlp[language](text)
            words = [token.text.lower() for token in doc]
            return NlpArtifacts(
                entities=[],
                tokens=doc,
                tokens_indices=[token.idx for token in doc],
                lemmas=words,
                nlp_engine=self,
                language=language,
            )

    analyzer = AnalyzerEngine(nlp_engine=Blank())
    for line in sys.stdin:
        text = json.loads(line)
        started = time.thread_time()
        found = analyzer.analyze(text, "en", score_threshold=0.3)
        spent_s = time.thread_time() - started
        spans = [
            [item.start, item.end, item.entity_type] for item in found if item.entity_type not in ("DATE_TIME", "URL")
        ]
        print(json.dumps({"spans": spans, "cpu_s": spent_s}), flush=True)


if __name__ == "__main__":
    main()
