/// Why a temporary cluster or a child process could not be run.
package struct ClusterError: Error, CustomStringConvertible {
    /// What was wrong.
    package struct Code: Hashable, Sendable {
        private enum Kind { case programMissing, programFailed, notStarted, system }
        private let kind: Kind

        /// A program is not installed.
        package static let programMissing = Self(kind: .programMissing)
        /// A program ended with a status other than 0, or before it was ready.
        package static let programFailed = Self(kind: .programFailed)
        /// A program could not be started at all.
        package static let notStarted = Self(kind: .notStarted)
        /// The operating system refused something: a folder, a port, a thread.
        package static let system = Self(kind: .system)
    }

    package let code: Code
    /// What is wrong, with the end of the program's output if there is any.
    package let message: String

    /// Always false.
    package var isRetryable: Bool { false }

    package var description: String { message }

    init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }
}
