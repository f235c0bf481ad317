/// Why a benchmark failed.
package struct BenchmarkError: Error, CustomStringConvertible {
    /// What was wrong.
    package struct Code: Hashable, Sendable {
        private enum Kind { case yardstick, wrongResult, system }
        private let kind: Kind

        /// The output of a yardstick's program could not be parsed.
        package static let yardstick = Self(kind: .yardstick)
        /// The measured program did not do its work, so its figure would mean nothing.
        package static let wrongResult = Self(kind: .wrongResult)
        /// The operating system refused a request or gave no answer.
        package static let system = Self(kind: .system)
    }

    package let code: Code
    /// What is wrong, for the user.
    package let message: String

    /// Always false: the same run fails again, unless the machine was too busy.
    package var isRetryable: Bool { false }

    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
