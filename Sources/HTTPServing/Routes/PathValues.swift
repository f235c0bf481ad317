/// The values of the variable segments of a path, percent-decoded once.
package struct PathValues: Hashable, Sendable {
    private var values: [String: String] = [:]

    package init() {}

    /// The value of a variable segment; empty when the template has no such segment.
    package subscript(name: String) -> String {
        get { values[name, default: ""] }
        set { values[name] = newValue }
    }
}
