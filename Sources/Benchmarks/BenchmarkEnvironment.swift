/// What every benchmark needs from whoever runs it.
package struct BenchmarkEnvironment: Sendable {
    /// The path of the built `appstore-inbox` that is measured.
    package let program: String
    /// Whether that is this very program: only then does what is measured inside of this process say anything of it.
    package let isThisProgram: Bool
    /// Tells a person how far it is.
    package let progress: @Sendable (String) -> Void

    package init(program: String, isThisProgram: Bool = true, progress: @escaping @Sendable (String) -> Void) {
        self.program = program
        self.isThisProgram = isThisProgram
        self.progress = progress
    }
}
