/// A person who uses the console.
package struct ConsolePerson: Hashable, Sendable {
    package enum Role: String, Sendable {
        case viewer, `operator`
    }

    /// The login of the database, or the name that the proxy gives. The audit records it.
    package let name: String
    package let role: Role
    /// Whether the person may ask for the body of an event.
    package let showsBodies: Bool

    package init(name: String, role: Role, showsBodies: Bool = false) {
        (self.name, self.role, self.showsBodies) = (name, role, showsBodies)
    }

    func has(_ right: ConsoleRight) -> Bool {
        switch right {
        case .operate: role == .operator
        case .showBodies: showsBodies
        }
    }
}
