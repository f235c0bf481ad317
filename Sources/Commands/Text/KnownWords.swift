import ArgumentParser
import Feed

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
