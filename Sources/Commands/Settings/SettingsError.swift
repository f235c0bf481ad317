/// Everything that is wrong with the configuration: each problem names the setting, where it came from, and what was expected.
///
/// Never retryable: the service ends with ``exitCode``, and its unit does not start it again.
struct SettingsError: Error, Equatable, CustomStringConvertible {
    let problems: [String]

    /// EX_CONFIG of sysexits.h.
    static let exitCode: Int32 = 78

    init(_ problems: [String]) {
        self.problems = problems
    }

    var description: String { problems.joined(separator: "\n") }
}
