/// The query of a request; of repeated items the first counts, and empty ones are as good as missing.
package struct PageQuery: Sendable {
    private let values: [String: String]

    /// An empty query.
    init() {
        values = [:]
    }

    /// - Throws: status 400 where the query cannot be decoded.
    init(_ text: String?) throws(ConsoleProblem) {
        guard let fields = FormEncoding.decode(text ?? "") else { throw .badRequest("The address cannot be read.") }
        values = Dictionary(fields.filter { !$0.value.isEmpty }.map { ($0.name, $0.value) }, uniquingKeysWith: { first, _ in first })
    }

    package subscript(name: String) -> String? { values[name] }

    /// All items but the environment, which each page has, by their names.
    var items: [(name: String, value: String)] {
        values.filter { $0.key != "environment" }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// An item that is a whole number, such as a place in a list; nil where it is missing.
    ///
    /// - Throws: status 400 where it is no number.
    package func int64(_ name: String) throws(ConsoleProblem) -> Int64? {
        guard let text = values[name] else { return nil }
        guard let number = Int64(text) else { throw .badRequest("\(name) must be a whole number.") }
        return number
    }
}
