import Glibc
import StrictJSON

/// Unbuffered standard output: each write is visible at once, also in a pipe.
package enum StandardOutput {
    static var isTerminal: Bool { isatty(STDOUT_FILENO) == 1 }

    /// Whether nothing reads the pipe any more.
    static var isClosed: Bool {
        var descriptor = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
        return poll(&descriptor, 1, 0) == 1 && Int32(descriptor.revents) & (POLLERR | POLLNVAL) != 0
    }

    /// Whether colours can be shown and are wanted (https://no-color.org).
    static func showsColours(_ environment: [String: String]) -> Bool {
        isTerminal && environment["NO_COLOR", default: ""].isEmpty && environment["TERM"] != "dumb"
    }

    package static func write(_ text: String) { text.writeAll(to: STDOUT_FILENO) }
}

extension String {
    /// Writes the text to a file descriptor. After an error, such as that of a closed pipe, the process goes on without this output.
    func writeAll(to descriptor: CInt) {
        let bytes = Array(utf8)
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0 && errno != EINTR { return }
            if count > 0 { written += count }
        }
    }
}

/// Options of commands that print JSON where `--json` is given, else text.
protocol JSONOptions {
    var json: Bool { get }
}

extension JSONOptions {
    /// Prints one JSON object on a line of its own, else the text.
    func print(_ object: @autoclosure () -> JSONObject, _ text: @autoclosure () -> String) {
        StandardOutput.write((json ? JSONSerializer.text(object()) : text()) + "\n")
    }

    /// Prints JSON objects, one a line, else a table.
    ///
    /// - Parameter none: what is printed in place of a table without rows; nil prints its head.
    func print(_ objects: [JSONObject], _ head: [String], _ rows: [[String]], none: String? = nil) {
        let table = rows.isEmpty ? none.map { [$0] } ?? Columns.lines([head]) : Columns.lines([head] + rows)
        StandardOutput.write((json ? objects.map { JSONSerializer.text($0) } : table).map { $0 + "\n" }.joined())
    }
}

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

    /// The text with every character escaped, as JSON would, that could move a terminal's cursor or turn the direction of reading: what is
    /// shown may have been written by an attacker. Newlines stay.
    ///
    /// JSON text stays the same JSON text, for such characters can only be inside its strings.
    var shownSafely: String {
        var safe = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            let isControl = scalar.properties.generalCategory == .control || scalar.properties.generalCategory == .format
            if isControl && scalar != "\n" {
                for unit in String(scalar).utf16 { safe.append(contentsOf: Self.escape(of: unit).unicodeScalars) }
            } else {
                safe.append(scalar)
            }
        }
        return String(safe)
    }

    private static func escape(of unit: UInt16) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension Duration {
    /// In the largest unit of which there are at least two.
    var inWords: String {
        let seconds = components.seconds
        for (unit, length) in [("days", 86_400), ("hours", 3600), ("minutes", 60)] as [(String, Int64)] where seconds >= 2 * length {
            return "\(seconds / length) \(unit)"
        }
        return "\(seconds) s"
    }
}

extension Int {
    /// Seconds as `45 s`, `12 min`, `3 h`.
    var asDuration: String {
        switch self {
        case ..<90: "\(self) s"
        case ..<5400: "\((self + 30) / 60) min"
        default: "\((self + 1800) / 3600) h"
        }
    }
}
