import StrictJSON

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
