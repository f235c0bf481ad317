import ArgumentParser

/// The values that an option accepts.
struct KnownWords {
    /// The option, such as `--outcome`.
    let option: String
    let words: [String]

    /// - Throws: a usage error that names the most similar word, else all words where they are few.
    func check(_ text: String) throws(ValidationError) {
        guard !words.contains(text) else { return }
        let hint =
            closest(to: text).map { ": did you mean \($0)?" } ?? (words.count > 10 ? "" : ": it must be \(words.joined(separator: ", "))")
        throw ValidationError("\(option) does not know \"\(text)\"\(hint)")
    }

    /// The word with the fewest edits, upper and lower case being alike; nil when more than a third of its letters differ.
    private func closest(to text: String) -> String? {
        let edits = words.map { (word: $0, count: Self.edits(from: text.lowercased(), to: $0.lowercased())) }
        return edits.filter { $0.count * 3 <= $0.word.count }.min { ($0.count, $0.word) < ($1.count, $1.word) }?.word
    }

    /// The Levenshtein distance.
    private static func edits(from text: String, to word: String) -> Int {
        var row = Array(0...word.count)
        for (index, letter) in text.enumerated() {
            var diagonal = row[0]
            row[0] = index + 1
            for (column, other) in word.enumerated() {
                let replaced = diagonal + (letter == other ? 0 : 1)
                diagonal = row[column + 1]
                row[column + 1] = min(replaced, row[column] + 1, diagonal + 1)
            }
        }
        return row[word.count]
    }
}
