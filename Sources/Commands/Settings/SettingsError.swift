/// All problems of the configuration. Each names the setting, its source, and what was expected.
///
/// Never retryable: the service ends with ``exitCode``, and its unit does not restart it.
struct SettingsError: Error, Equatable, CustomStringConvertible {
    let problems: [String]

    /// EX_CONFIG of sysexits.h.
    static let exitCode: Int32 = 78

    init(_ problems: [String]) {
        self.problems = problems
    }

    var description: String { problems.joined(separator: "\n") }
}
