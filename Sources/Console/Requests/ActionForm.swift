import HTTPServing
import NIOCore

/// The fields of a form that was sent.
package struct ActionForm: Sendable {
    /// The variable segments of the path, decoded.
    package let values: [String: String]
    /// In the order of the form.
    let fields: [(name: String, value: String)]

    /// The names of the fields that the confirmation adds.
    static let confirmedName = "confirmed"
    static let seenName = "seen"
    static let wordName = "word"
    static let limitName = "limit"
    /// The most characters of a field.
    private static let maximumLength = 4096

    init(values: [String: String], fields: [(name: String, value: String)]) {
        (self.values, self.fields) = (values, fields)
    }

    /// - Throws: status 400 for a body that is no form.
    init(_ request: Request) throws(ConsoleProblem) {
        let mediaType = request.field("content-type")?.split(separator: ";").first.map(String.init) ?? ""
        guard mediaType.lowercased() == "application/x-www-form-urlencoded" else {
            throw .badRequest("The console takes forms only.")
        }
        var body = request.body
        let text = body.readString(length: body.readableBytes) ?? ""
        guard let fields = FormEncoding.decode(text), fields.allSatisfy({ $0.value.count <= Self.maximumLength }) else {
            throw .badRequest("The form cannot be read.")
        }
        self.init(values: request.values, fields: fields)
    }

    /// The value of a field without the spaces around it; nil where it is missing or empty.
    package subscript(name: String) -> String? {
        guard let value = fields.first(where: { $0.name == name })?.value else { return nil }
        let trimmed = value.drop(while: \.isWhitespace)
        let end = trimmed.lastIndex { !$0.isWhitespace }
        return end.map { String(trimmed[...$0]) }
    }

    /// The values of all fields of a name, such as checked boxes.
    package func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// - Parameter label: what the field is called on the page.
    /// - Throws: status 400 where it is missing or empty.
    package func required(_ name: String, _ label: String) throws(ConsoleProblem) -> String {
        guard let value = self[name] else { throw .badRequest("\(label) is missing.") }
        return value
    }

    /// The value with the spaces around it, which a name may have.
    ///
    /// - Throws: status 400 where it is missing or empty.
    package func exact(_ name: String, _ label: String) throws(ConsoleProblem) -> String {
        guard let value = fields.first(where: { $0.name == name })?.value, !value.isEmpty else { throw .badRequest("\(label) is missing.") }
        return value
    }

    /// A variable segment that is a number.
    ///
    /// - Throws: status 404 where it is none.
    package func number(_ name: String) throws(ConsoleProblem) -> Int64 {
        try PageRequest(values: values, query: PageQuery()).number(name)
    }

    /// Whether the person has said yes to what the confirmation asked.
    package var isConfirmed: Bool { self[Self.confirmedName] == "yes" }

    /// The same where the confirmation named a count: it counts only if what is there now differs from it by at most a tenth.
    package func confirms(count: Int64) -> Bool {
        guard isConfirmed, let seen = self[Self.seenName].flatMap({ Int32($0) }).map(Int64.init) else { return false }
        return abs(count - seen) * 10 <= seen
    }

    /// The most rows that the person has named where there are too many to count, with the word that was asked for.
    func limit(confirmedBy word: String) -> Int64? {
        guard isConfirmed, self[Self.wordName]?.lowercased() == word else { return nil }
        return self[Self.limitName].flatMap { Int32($0) }.flatMap { $0 > 0 ? Int64($0) : nil }
    }

    /// The fields without those of a confirmation.
    var ownFields: [(name: String, value: String)] {
        fields.filter { ![Self.confirmedName, Self.seenName, Self.wordName, Self.limitName].contains($0.name) }
    }
}
