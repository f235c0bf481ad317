package import HTML

/// Something that a person does by a form. POST only; origin, session, right and read-only mode are checked before it runs.
package protocol ConsoleAction: Sendable {
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
package enum ConsoleRight: Sendable {
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
package enum ActionAnswer: Sendable {
    /// It is done: the browser goes to that page, which shows the words once.
    case done(ConsoleURL, String)
    /// Nothing is done: the person is asked, and the same form comes again with ``ActionForm/isConfirmed``.
    case confirm(Confirmation)
    /// The answer itself, such as the body of an event.
    case page(Page)
}

/// A question before something is done.
package struct Confirmation: Sendable {
    package let title: String
    /// The word of the button.
    package let button: String
    package let isDangerous: Bool
    /// How many rows the action is about; the form brings it back.
    package let count: Int64?
    /// What will happen.
    package let explanation: Markup
    /// What the person has to fill in besides; the names of its fields are those that the action adds to a confirmation.
    package var fields = Markup.empty

    package init(title: String, button: String, isDangerous: Bool = false, count: Int64? = nil, @MarkupBuilder explanation: () -> Markup) {
        (self.title, self.button, self.isDangerous, self.count, self.explanation) = (title, button, isDangerous, count, explanation())
    }
}
