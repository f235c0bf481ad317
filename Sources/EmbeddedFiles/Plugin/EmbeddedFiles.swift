import Foundation
import PackagePlugin

/// Compiles text files of a target into it, as members of an enum `EmbeddedFiles`: see the tool `embed-files`.
///
/// Resources that SwiftPM embeds are arrays of numbers, which take the compiler a hundred seconds for the schema.
@main
struct EmbeddedFiles: BuildToolPlugin {
    func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
        let files = try Self.texts(in: target.directoryURL)
        let source = context.pluginWorkDirectoryURL.appending(path: "EmbeddedFiles.swift")
        return [
            .buildCommand(
                displayName: "Embedding \(files.count) files of \(target.name)",
                executable: try context.tool(named: "embed-files").url,
                arguments: [source.path, target.directoryURL.path] + files.map(\.path),
                inputFiles: files,
                outputFiles: [source]
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
                ["sql", "json", "txt", "css", "js", "svg"].contains($0.pathExtension) && !$0.path.contains("/queries/")
                    && !$0.path.contains("/releases/")
            }
            .sorted { $0.path < $1.path }
    }
}
