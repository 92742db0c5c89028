# Ways to have git run a program outside that change what git follows and was there before the command: bubblewrap
# has it read-only, Landlock can't. In a repository with a hook, an included file, a linked work tree `tree`, a
# repository `lib` whose git folder is `lib-git`, and one whose hooks are in `team`.

## a setting
git config core.fsmonitor "$EVIL"
## a setting that was there
git config core.pager "$EVIL"
## a hook that was there
printf '%s\n' "$EVIL" >.git/hooks/pre-commit
## a hook that was off
chmod +x .git/hooks/post-checkout
## a new hook
hook .git/hooks post-commit
## hooks that are a link
hook free pre-commit; mv .git/hooks free/old; ln -s ../free .git/hooks
## an old time
touch -r .git/config stamp; git config core.fsmonitor "$EVIL"; touch -r stamp .git/config
## another git folder
mv .git moved; evil_repository .
## another configuration
cp .git/config free; git config -f free core.fsmonitor "$EVIL"; mv free .git/config
## a hard link as configuration
cp .git/config free; git config -f free core.fsmonitor "$EVIL"; rm .git/config; ln free .git/config
## an included file
git config -f shared.inc core.fsmonitor "$EVIL"
## a hook elsewhere
printf '%s\n' "$EVIL" >team/pre-commit
## a new hook elsewhere
hook team post-checkout
## a folder of hooks that is a link
hook other pre-commit; mv team old; ln -s other team
## a .git file
free; echo 'gitdir: ../free' >lib/.git
## a git folder elsewhere
git config -f lib-git/config core.fsmonitor "$EVIL"
## another git folder elsewhere
mv lib-git moved; evil_repository new; mv new/.git lib-git
## the .git of a work tree
free; echo 'gitdir: ../free' >tree/.git
## the commondir of a work tree
free; echo ../../../free >.git/worktrees/tree/commondir
## the settings of a work tree
git -C tree config --worktree core.fsmonitor "$EVIL"
