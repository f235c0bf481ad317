/// The people whom an authenticating proxy may name, from a file of lines `NAME viewer|operator [bodies]`.
package struct TrustedNames: Sendable, Equatable {
    /// Why a line is refused.
    package struct InvalidLine: Error, CustomStringConvertible {
        package let number: Int
        package var description: String { "line \(number) is not NAME viewer|operator [bodies], each name once" }
    }

    private var people: [String: ConsolePerson] = [:]

    /// No people.
    package init() {}

    /// - Parameter text: lines that begin with # are comments.
    package init(_ text: String) throws(InvalidLine) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
            guard let name = words.first, !name.hasPrefix("#") else { continue }
            let isForm = words.count == 2 || words.count == 3 && words[2] == "bodies"
            guard isForm, let role = ConsolePerson.Role(rawValue: words[1]), people[name] == nil else {
                throw InvalidLine(number: index + 1)
            }
            people[name] = ConsolePerson(name: name, role: role, showsBodies: words.count == 3)
        }
    }

    subscript(name: String) -> ConsolePerson? { people[name] }
}
