import Commands
import LabCommands

await Program.run(AppStoreInboxLab.self)
