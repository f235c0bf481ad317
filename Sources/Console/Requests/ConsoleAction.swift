import HTTPServing
import NIOCore

/// Something that a person does by a form. POST only; origin, session, right and read-only mode are checked before it runs.
protocol ConsoleAction: Sendable {
    /// The path, with variable segments in braces: `/events/{event}/requeue`.
    var path: String { get }
    var area: ConsoleArea { get }
    /// What the person needs.
    var right: ConsoleRight { get }
    /// Does it, or asks for confirmation, in one transaction that is committed when this returns.
    ///
    /// - Throws: ``ConsoleProblem`` for what the person asked wrongly, or the error of a statement.
    func perform(_ form: ActionForm, _ context: ConsoleContext) async throws -> ActionAnswer
}

/// What an action needs of a person. The transaction takes the database role of the same meaning, so that the database checks it, too.
enum ConsoleRight: Sendable {
    /// To repair and change.
    case operate
    /// To see the body of an event.
    case showBodies

    /// The role of `sql/roles.sql`.
    var role: String {
        switch self {
        case .operate: "appstore_operator"
        case .showBodies: "appstore_bodies"
        }
    }
}

/// What came of an action.
enum ActionAnswer: Sendable {
    /// It is done: the browser goes to that page, which shows the words once.
    case done(ConsoleURL, String)
    /// Nothing is done: the person is asked, and the same form comes again with ``ActionForm/isConfirmed``.
    case confirm(Confirmation)
    /// The answer itself, such as the body of an event.
    case page(Page)
}

/// A question before something is done.
struct Confirmation: Sendable {
    let title: String
    /// The word of the button.
    let button: String
    let isDangerous: Bool
    /// How many rows the action is about; the form brings it back.
    let count: Int64?
    /// What will happen.
    let explanation: Markup
    /// What the person has to fill in besides; the names of its fields are those that the action adds to a confirmation.
    var fields = Markup.empty

    init(title: String, button: String, isDangerous: Bool = false, count: Int64? = nil, @MarkupBuilder explanation: () -> Markup) {
        (self.title, self.button, self.isDangerous, self.count, self.explanation) = (title, button, isDangerous, count, explanation())
    }
}

/// The fields of a form that was sent.
struct ActionForm: Sendable {
    /// The variable segments of the path, decoded.
    let values: [String: String]
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
    subscript(name: String) -> String? {
        guard let value = fields.first(where: { $0.name == name })?.value else { return nil }
        let trimmed = value.drop(while: \.isWhitespace)
        let end = trimmed.lastIndex { !$0.isWhitespace }
        return end.map { String(trimmed[...$0]) }
    }

    /// The values of all fields of a name, such as checked boxes.
    func all(_ name: String) -> [String] { fields.filter { $0.name == name }.map(\.value) }

    /// - Parameter label: what the field is called on the page.
    /// - Throws: status 400 where it is missing or empty.
    func required(_ name: String, _ label: String) throws(ConsoleProblem) -> String {
        guard let value = self[name] else { throw .badRequest("\(label) is missing.") }
        return value
    }

    /// The value with the spaces around it, which a name may have.
    ///
    /// - Throws: status 400 where it is missing or empty.
    func exact(_ name: String, _ label: String) throws(ConsoleProblem) -> String {
        guard let value = fields.first(where: { $0.name == name })?.value, !value.isEmpty else { throw .badRequest("\(label) is missing.") }
        return value
    }

    /// A variable segment that is a number.
    ///
    /// - Throws: status 404 where it is none.
    func number(_ name: String) throws(ConsoleProblem) -> Int64 {
        try PageRequest(values: values, query: PageQuery()).number(name)
    }

    /// Whether the person has said yes to what the confirmation asked.
    var isConfirmed: Bool { self[Self.confirmedName] == "yes" }

    /// The same where the confirmation named a count: it counts only if what is there now differs from it by at most a tenth.
    func confirms(count: Int64) -> Bool {
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
