/// What every benchmark needs from whoever runs it.
package struct BenchmarkEnvironment: Sendable {
    /// The path of the built `appstore-inbox`.
    package let program: String
    /// Tells a person how far it is.
    package let progress: @Sendable (String) -> Void

    package init(program: String, progress: @escaping @Sendable (String) -> Void) {
        self.program = program
        self.progress = progress
    }
}
