//! Lines of text that are at most as wide as the terminal: they break between words.

/// An indentation may take this part of the width.
const INDENT_PART: usize = 2;

/// The text in lines of at most `width` characters. A line goes on below its text: behind its label or number, if two blanks or more
/// follow one. A longer word, such as a path, stays whole, and so does a line that quotes a file.
pub(crate) fn wrap(text: &str, width: usize) -> String {
    let lines = text.split('\n').map(|line| wrap_line(line, width));
    lines.collect::<Vec<_>>().join("\n")
}

fn wrap_line(line: &str, width: usize) -> String {
    if shown_width(line) <= width || is_quotation(line) {
        return line.to_owned();
    }
    let indent = text_column(line);
    let indent = if indent > width / INDENT_PART {
        0
    } else {
        indent
    };
    let (mut out, mut column, mut blanks) = (String::new(), 0, 0);
    for (place, word) in line.split(' ').enumerate() {
        blanks += usize::from(place > 0);
        if word.is_empty() {
            continue;
        }
        let wide = shown_width(word);
        if column > indent && column + blanks + wide > width {
            out += &format!("\n{:indent$}", "");
            column = indent;
        } else {
            out += &format!("{:blanks$}", "");
            column += blanks;
        }
        out += word;
        column += wide;
        blanks = 0;
    }
    out
}

/// Where the text of a line begins: behind its first gap of two blanks or more, else behind the blanks at its start.
fn text_column(line: &str) -> usize {
    let start = line.len() - line.trim_start_matches(' ').len();
    let Some(gap) = line[start..].find("  ").map(|gap| start + gap) else {
        return start;
    };
    let text = line[gap..].trim_start_matches(' ');
    shown_width(&line[..line.len() - text.len()])
}

/// A line of a file with its number, or the mark below it.
fn is_quotation(line: &str) -> bool {
    let number = line.trim_start();
    let rest = number.trim_start_matches(|letter: char| letter.is_ascii_digit());
    rest.trim_start().starts_with("| ")
}

/// Characters that a terminal shows, which are all but those of colours.
fn shown_width(text: &str) -> usize {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().chars().count();
    let shown = |part: &str| {
        part.split_once('m')
            .map_or(0, |(_, rest)| rest.chars().count())
    };
    first + parts.map(shown).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::wrap;

    #[test]
    fn lines_break_between_words() {
        let check = |width, text: &str, expected: &str| assert_eq!(wrap(text, width), expected);
        check(
            20,
            "note: the server is external\nshort  line ",
            "note: the server is\nexternal\nshort  line ",
        );
        // Below the text, not below the label.
        check(
            20,
            "  note    two words more\n          and why",
            "  note    two words\n          more\n          and why",
        );
        check(
            16,
            "  3  a=1 b=2  open, 5/s",
            "  3  a=1 b=2\n     open, 5/s",
        );
        // A label takes too much of a narrow terminal.
        check(10, "  threshold  p99 < 1 ms", "  threshold\np99 < 1 ms");
        // Words and quotations stay whole.
        check(
            10,
            "see runs/long-name/report.html",
            "see\nruns/long-name/report.html",
        );
        check(
            10,
            "  3 | system: { use: faulty }",
            "  3 | system: { use: faulty }",
        );
        check(10, "    |    ^^^^^^^^^^", "    |    ^^^^^^^^^^");
        // Colours take no place, and the signs of other alphabets one.
        check(
            9,
            "\x1b[1;33mvalid\x1b[0m µ–π",
            "\x1b[1;33mvalid\x1b[0m µ–π",
        );
        check(9, "\x1b[2msingle run\x1b[0m", "\x1b[2msingle\nrun\x1b[0m");
    }
}
