/// Lines whose cells stand below each other. A column is as wide as its widest cell so far.
struct Columns {
    private var widths: [Int] = []

    /// The lines of a table that is known as a whole.
    static func lines(_ rows: [[String]]) -> [String] {
        var columns = Columns()
        for row in rows { columns.widen(for: row) }
        return rows.map { row in columns.padded(row).joined(separator: "  ").trimmingSuffix(" ") }
    }

    /// Makes room for these cells.
    mutating func widen(for cells: [String]) {
        for (column, cell) in cells.enumerated() {
            if column == widths.count { widths.append(0) }
            widths[column] = max(widths[column], cell.count)
        }
    }

    /// The cells, each filled up to its column's width.
    func padded(_ cells: [String]) -> [String] {
        zip(cells, widths).map { $0.padded(to: $1) }
    }
}

extension String {
    /// The text, filled up with spaces.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }

    /// The text without these characters at its end.
    func trimmingSuffix(_ character: Character) -> String {
        String(reversed().drop { $0 == character }.reversed())
    }

    /// The text as one line that a terminal can print.
    ///
    /// A CR LF is one character: only when the CR is escaped, the LF is found.
    var onOneLineSafely: String { shownSafely.replacing("\n", with: "\\n") }
}
