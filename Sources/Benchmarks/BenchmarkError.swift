/// Why nothing could be measured.
package struct BenchmarkError: Error, CustomStringConvertible {
    /// What was wrong.
    package struct Code: Hashable, Sendable {
        private enum Kind { case yardstick, wrongResult, system }
        private let kind: Kind

        /// A yardstick's program said something that is not understood.
        package static let yardstick = Self(kind: .yardstick)
        /// What was measured did not do its work: a figure would be worth nothing.
        package static let wrongResult = Self(kind: .wrongResult)
        /// The operating system refused or does not tell something.
        package static let system = Self(kind: .system)
    }

    package let code: Code
    /// What is wrong, for a person.
    package let message: String

    /// False: the same run fails again, but for a machine that is too busy.
    package var isRetryable: Bool { false }

    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
