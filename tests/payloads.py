"""Texts that would run, load or reorder something if they were markup."""

PAYLOADS = (
    "<script>window.hit = 1</script>",
    "</script><script>window.hit = 1</script>",
    "<!--<script>window.hit = 1</script>-->",
    "<img src=x onerror='window.hit = 1'>",
    "<svg onload=window.hit=1><use href='data:image/svg+xml,x'/></svg>",
    "\"'><iframe srcdoc='<script>parent.hit = 1</script>'></iframe>",
    "<a href='javascript:window.hit = 1' autofocus onfocus=window.hit=1>x</a>",
    "{{ 7 * 7 }}{% raw %}${window.hit = 1}",
    "]]><style>@import url(http://localhost:9/x)</style><link rel=stylesheet href=//localhost:9>",
    "<meta http-equiv=refresh content='0;url=http://localhost:9/'><base href=http://localhost:9>",
    "__proto__",
    "\u202egnp.exe\u2066 \u0000\u001b[31m \u2028 \u2029 \ufeff \U000e0041",
    "\ud83d half an emoji \udc00",
)
