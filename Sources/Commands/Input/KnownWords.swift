import AppStore
import ArgumentParser
import Feed
import Postgres

/// The values that an option accepts.
struct KnownWords {
    /// The option, such as `--outcome`.
    let option: String
    let words: [String]

    /// The types of the feed's entries.
    static let feedTypes = KnownWords(option: "--type", words: FeedType.words)
    static let environments = KnownWords(option: "--environment", words: ["Production", "Sandbox"])

    /// - Throws: a usage error that names the most similar word, else all words where they are few.
    func check(_ text: String) throws(ValidationError) {
        guard !words.contains(text) else { return }
        let hint =
            text.nearest(among: words).map { ": did you mean \($0)?" }
            ?? (words.count > 12 ? "" : ": it must be \(words.joined(separator: ", "))")
        throw ValidationError("\(option) does not know \"\(text)\"\(hint)")
    }
}

extension CompletionKind {
    static var environments: CompletionKind { .list(KnownWords.environments.words) }

    static var notificationTypes: CompletionKind { .list(NotificationMatrix.subtypes.keys.map(\.rawValue).sorted()) }

    /// The raw values of all cases.
    static func values<Value: CaseIterable & RawRepresentable>(of type: Value.Type) -> CompletionKind where Value.RawValue == String {
        .list(Value.allCases.map(\.rawValue))
    }
}

extension String {
    /// The name that was probably meant: the one with the fewest edits, upper and lower case being alike, if these are few for its length.
    func nearest(among names: some Sequence<String>) -> String? {
        let distances = names.map { (name: $0, edits: lowercased().edits(to: $0.lowercased())) }
        guard let best = distances.min(by: { $0.edits < $1.edits }), best.edits <= Swift.max(2, best.name.count / 5) else { return nil }
        return best.name
    }

    /// How many characters have to be inserted, removed, replaced or swapped with their neighbour.
    private func edits(to other: String) -> Int {
        let (left, right) = (Array(self), Array(other))
        var rows = [Array(0...right.count)]
        for (i, character) in left.enumerated() {
            var row = [i + 1]
            for (j, candidate) in right.enumerated() {
                var edits = Swift.min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (character == candidate ? 0 : 1))
                if i > 0, j > 0, character == right[j - 1], left[i - 1] == candidate { edits = Swift.min(edits, rows[i - 1][j - 1] + 1) }
                row.append(edits)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }

    /// Whether the text may hold a password although none belongs there, such as a connection string in the wrong setting.
    var mayHoldSecret: Bool {
        contains("@") || contains("=") || contains(";") || lowercased().contains("password") || contains("://") && !hasPrefix("http")
    }

    /// The text with quotation marks, or without its content where it may hold a secret.
    var quotedUnlessSecret: String { mayHoldSecret ? "a text that is not shown" : "\"\(self)\"" }

    /// The message without arguments of a command line that may hold a secret. An argument that quotes are missing around comes in parts, of
    /// which only some look like one: then no argument is shown.
    func withoutSecrets(ofArguments arguments: [String]) -> String {
        let values = arguments.map { argument in
            argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init) ?? "" : argument
        }
        guard values.contains(where: \.mayHoldSecret) else { return self }
        return values.filter { !$0.isEmpty }.reduce(self) { message, value in
            let quoted = message.replacing("'\(value)'", with: "(not shown)").replacing("\"\(value)\"", with: "(not shown)")
            return value.mayHoldSecret ? quoted.replacing(value, with: "(not shown)") : quoted
        }
    }
}

extension PostgresTimestamp {
    /// Parses an instant of ISO 8601 with its offset, such as `2026-01-31T12:00:00Z`, with up to six decimals; nil for other text.
    init?(instant text: String) {
        guard let match = text.wholeMatch(of: /(\d{4}-\d{2}-\d{2}T\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,6}))?)?(Z|[+\-]\d{2}:\d{2})/),
            let second = Timestamp(rfc3339: Array("\(match.1):\(match.2 ?? "00")\(match.4)".utf8))
        else { return nil }
        let decimals = match.3 ?? ""
        let microseconds = Int64(decimals + String(repeating: "0", count: 6 - decimals.count)) ?? 0
        self.init(
            microsecondsSince2000: PostgresTimestamp(millisecondsSince1970: second.millisecondsSince1970).microsecondsSince2000
                + microseconds
        )
    }
}

extension Timestamp {
    /// Rounded down to a millisecond.
    init(_ timestamp: PostgresTimestamp) { self.init(millisecondsSince1970: timestamp.millisecondsSince1970) }
}
