/// What stands in the variable segments of a request's path, percent-decoded once.
package struct PathValues: Hashable, Sendable {
    private var values: [String: String] = [:]

    package init() {}

    /// The value of a variable segment; empty when the template has no such segment, for no path has an empty one.
    package subscript(name: String) -> String {
        get { values[name, default: ""] }
        set { values[name] = newValue }
    }
}
