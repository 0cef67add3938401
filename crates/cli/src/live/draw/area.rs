//! A part of the screen, which can be split and written to. Writes outside are clipped.

use ratatui::{buffer::Buffer, layout::Rect, style::Style};

use super::palette::{BOLD, DIM};

/// A part of the screen.
#[derive(Debug)]
pub(super) struct Area<'a> {
    pub(super) rect: Rect,
    pub(super) buffer: &'a mut Buffer,
}

impl<'a> Area<'a> {
    pub(super) fn new(rect: Rect, buffer: &'a mut Buffer) -> Self {
        Self {
            rect: rect.intersection(buffer.area),
            buffer,
        }
    }

    pub(super) fn width(&self) -> u16 {
        self.rect.width
    }

    pub(super) fn height(&self) -> u16 {
        self.rect.height
    }

    /// Cuts rows off the top.
    pub(super) fn top(&mut self, rows: u16) -> Area<'_> {
        let rows = rows.min(self.rect.height);
        let rect = Rect {
            height: rows,
            ..self.rect
        };
        self.rect.y += rows;
        self.rect.height -= rows;
        Area::new(rect, self.buffer)
    }

    /// Cuts rows off the bottom.
    pub(super) fn bottom(&mut self, rows: u16) -> Area<'_> {
        let rows = rows.min(self.rect.height);
        self.rect.height -= rows;
        let rect = Rect {
            y: self.rect.y + self.rect.height,
            height: rows,
            ..self.rect
        };
        Area::new(rect, self.buffer)
    }

    /// Cuts columns off the left.
    pub(super) fn take_left(&mut self, columns: u16) -> Area<'_> {
        let columns = columns.min(self.rect.width);
        let rect = Rect {
            width: columns,
            ..self.rect
        };
        self.rect.x += columns;
        self.rect.width -= columns;
        Area::new(rect, self.buffer)
    }

    /// Cuts columns off the right.
    pub(super) fn right(&mut self, columns: u16) -> Area<'_> {
        let columns = columns.min(self.rect.width);
        self.rect.width -= columns;
        let rect = Rect {
            x: self.rect.x + self.rect.width,
            width: columns,
            ..self.rect
        };
        Area::new(rect, self.buffer)
    }

    /// Puts text, truncated at the right edge with an ellipsis.
    pub(super) fn put(&mut self, column: u16, row: u16, text: &str, style: Style) {
        if column >= self.rect.width || row >= self.rect.height {
            return;
        }
        let left = usize::from(self.rect.width - column);
        let (x, y) = (self.rect.x + column, self.rect.y + row);
        let (end, _) = self.buffer.set_stringn(x, y, text, left, style);
        if text.chars().count() > left && end > x {
            self.buffer[(end - 1, y)].set_char('…');
        }
    }

    /// Puts text right-aligned.
    pub(super) fn put_right(&mut self, row: u16, text: &str, style: Style) {
        let length = u16::try_from(text.chars().count()).unwrap_or(u16::MAX);
        self.put(self.rect.width.saturating_sub(length), row, text, style);
    }

    /// Puts one character.
    pub(super) fn dot(&mut self, column: u16, row: u16, letter: &str, style: Style) {
        if column < self.rect.width && row < self.rect.height {
            let position = (self.rect.x + column, self.rect.y + row);
            self.buffer[position].set_symbol(letter).set_style(style);
        }
    }

    /// Cuts off the first row for a title with a text next to it: `─ goodput  45.2k/s now ──────`.
    pub(super) fn title(&mut self, name: &str, text: &str) {
        self.draw_title(name, text, Style::new());
    }

    /// The same with a style of the text.
    pub(super) fn draw_title(&mut self, name: &str, text: &str, style: Style) {
        let mut row = self.top(1);
        let width = row.width();
        row.put(0, 0, &"─".repeat(usize::from(width)), DIM);
        let name = format!(" {name} ");
        row.put(1, 0, &name, BOLD);
        if !text.is_empty() {
            let column = 1 + u16::try_from(name.chars().count()).unwrap_or(u16::MAX);
            row.put(column, 0, &format!("{text} "), style);
        }
    }
}

/// Wraps text to this width between words.
pub(super) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_wrapped_between_words() {
        let check = |text: &str, width: usize, expected: &[&str]| {
            assert_eq!(wrap(text, width), expected, "{text:?} in {width}");
        };
        check("", 10, &[]);
        check("one two three", 7, &["one two", "three"]);
        check("one two three", 100, &["one two three"]);
        check("µµµ µµµ", 7, &["µµµ µµµ"]);
        check("immeasurable x", 5, &["immeasurable", "x"]);
    }

    #[test]
    fn writes_outside_are_clipped() {
        let mut buffer = Buffer::empty(Rect::new(0, 0, 6, 2));
        let mut area = Area::new(Rect::new(0, 0, 60, 20), &mut buffer);
        area.put(0, 0, "too long for it", Style::new());
        area.put(0, 9, "below", Style::new());
        area.put(9, 0, "outside", Style::new());
        area.top(9).put(0, 1, "row", Style::new());
        assert_eq!((area.height(), area.width()), (0, 6));
        assert_eq!(buffer, Buffer::with_lines(["too l…", "row   "]));
    }
}
