/// What every benchmark needs from its caller.
package struct BenchmarkEnvironment: Sendable {
    /// The path of the built `appstore-inbox` that is measured.
    package let program: String
    /// Whether `program` was built with this process's code. Only then do costs measured in this process apply to it.
    package let isSameBuild: Bool
    /// Reports progress to the user.
    package let progress: @Sendable (String) -> Void

    package init(program: String, isSameBuild: Bool = true, progress: @escaping @Sendable (String) -> Void) {
        self.program = program
        self.isSameBuild = isSameBuild
        self.progress = progress
    }
}
