// Searches find the page that answers a question before the pages that explain how it is built.
// The numbers of matches are Sphinx's own (sphinx/themes/basic/static/searchtools.js).
var Scorer = {
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,

  score: ([page, , , , score]) => {
    const words = (new URLSearchParams(location.search).get("q") || "").toLowerCase().split(/\s+/);
    // The page that is named after what is looked for.
    if (words.some((word) => word.length > 3 && page.includes(word.slice(0, 6)))) score += 10;
    if (/^(guide\/|lessons\/|quickstart|which_machine|when_not)/.test(page)) return score + 20;
    if (/^(architecture|engine|changelog|notation|results\/)/.test(page)) return score - 10;
    return score;
  },
};
