// The signs of the page, drawn: no two systems have the same ones in their fonts. Paths in a box of 24 by 24, for `icon`.

export const PLAY = "M7 4.5v15l13-7.5z";
export const STOP = "M6 6h12v12H6z";
export const PAUSE = "M6 4.5h4.5v15H6zM13.5 4.5H18v15h-4.5z";
export const REPEAT = "M7 7h9v3l5-4.5L16 1v3H4v8h3zM17 17H8v-3l-5 4.5L8 23v-3h12v-8h-3z";
export const PLUS = "M11 5h2v6h6v2h-6v6h-2v-6H5v-2h6z";
export const MINUS = "M5 11h14v2H5z";
export const CHECK = "M9 16.2L4.8 12l-1.4 1.4L9 19 21 7l-1.4-1.4z";
export const CROSS = "M6 4.6L4.6 6l6 6-6 6L6 19.4l6-6 6 6 1.4-1.4-6-6 6-6L18 4.6l-6 6z";
export const ALERT = "M10.5 4h3v11h-3zM10.5 17h3v3h-3z";
export const WAITING = "M4 10.5h3v3H4zM10.5 10.5h3v3h-3zM17 10.5h3v3h-3z";
export const ARROW = "M4 11h12l-4-4 1.4-1.4L20 12l-6.6 6.4L12 17l4-4H4z";
