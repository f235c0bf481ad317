import Foundation
import PackagePlugin

/// Compiles text files of a target into it, as members of an enum `EmbeddedFiles`, and its statements as functions: see the tool `embed-files`.
///
/// Resources that SwiftPM embeds are arrays of numbers, which take the compiler a hundred seconds for the schema.
@main
struct EmbeddedFiles: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let files = try Self.texts(in: target.directoryURL)
        let output = context.pluginWorkDirectoryURL
        let hasStatements = files.contains { Self.folder(of: $0, in: target.directoryURL) == "statements" }
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) files of \(target.name)",
                executable: try context.tool(named: "embed-files").url,
                arguments: [output.path, target.directoryURL.path] + files.map(\.path),
                inputFiles: files,
                outputFiles: (["EmbeddedFiles.swift"] + (hasStatements ? ["Statements.swift"] : [])).map { output.appending(path: $0) }
            )
        ]
    }

    private static func texts(in folder: URL) throws -> [URL] {
        guard let paths = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil) else {
            throw CocoaError(.fileReadNoSuchFile, userInfo: [NSFilePathErrorKey: folder.path])
        }
        // Releases are for tests, and queries for people.
        return paths.compactMap { $0 as? URL }
            .filter {
                ["sql", "json", "txt", "css", "js", "svg"].contains($0.pathExtension)
                    && !["queries", "releases"].contains(Self.folder(of: $0, in: folder))
            }
            .sorted { $0.path < $1.path }
    }

    /// The folder of the target that a file is in, at any depth, or the file's name.
    private static func folder(of file: URL, in target: URL) -> String {
        String(file.path.dropFirst(target.path.count).split(separator: "/").first ?? "")
    }
}
